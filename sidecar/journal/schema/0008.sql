-- A receipt says what holds its delivery. Older versions told that from the words of its reason and
-- from what was decided last about its message, and so does this, once, for what is still held.
WITH
	held AS (
		SELECT r.seq, json_extract(r.doc, '$.reason') AS reason,
			coalesce(json_extract(d.doc, '$.unfiltered'), 0) AS unfiltered,
			coalesce(json_extract(d.doc, '$.asked'), 0) AS asked,
			coalesce(json_extract(v.doc, '$.person.name'), '') AS person,
			coalesce((SELECT json_extract(o.value, '$.verb') FROM json_each(v.doc, '$.outcomes') o
				WHERE json_extract(o.value, '$.target') = d.target LIMIT 1), json_extract(v.doc, '$.verb'), '') AS verb
		FROM deliveries d INDEXED BY deliveries_open JOIN receipts r ON r.seq = d.last
			LEFT JOIN verdicts v ON v.seq = (SELECT max(w.seq) FROM verdicts w WHERE w.message = d.message)
		WHERE d.open AND d.state = 'held'
	),
	read AS (
		SELECT *, CASE
			WHEN reason IN ('chat paused', 'everything is stopped') THEN 'pause'
			WHEN reason = 'waiting for approval' THEN 'approval'
			WHEN reason = 'its filter failed' THEN 'filter'
			WHEN reason IN ('depth limit reached', 'rate limit reached', 'byte limit reached', 'too many targets at once',
				'nothing new is said') THEN 'limit'
			WHEN coalesce(reason, '') IN ('', 'agent gone', 'agent working', 'draft in the composer', 'our text stands in the composer',
				'pane in a mode', 'synchronised window', 'input of the pane is off', 'pane is dead', 'pane runs another process',
				'pane is gone', 'tmux server ended', 'another program is in front', 'terminal does not echo (a password prompt?)',
				'a full-screen program is shown', 'screen not recognised', 'composer not provably empty',
				'text was not seen in the composer', 'text was not seen to leave the composer', 'tmux did not answer',
				'pane changed while we looked', 'sidecar ended', 'no answer in time', 'disk full') THEN ''
			ELSE 'policy' END AS why
		FROM held
	),
	awaited AS (
		SELECT *, why IN ('approval', 'filter') OR verb NOT IN ('', 'deliver') OR unfiltered OR asked AND person = '' AS awaits
		FROM read
	),
	told AS (
		SELECT seq, CASE
			WHEN reason = 'agent gone' THEN '' -- whether it waits for a person too, the delivery itself says
			WHEN awaits AND why IN ('policy', 'filter') THEN why
			WHEN awaits AND unfiltered THEN 'filter'
			WHEN awaits THEN 'approval'
			WHEN why IN ('pause', 'limit') THEN why
			ELSE '' END AS hold
		FROM awaited
	)
UPDATE receipts SET doc = json_set(doc, '$.hold', told.hold) FROM told WHERE told.seq = receipts.seq AND told.hold <> '';
