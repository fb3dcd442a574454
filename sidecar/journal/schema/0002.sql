-- What a sidecar that starts must know at once, and what is counted, is kept as it changes:
-- nothing of it is looked for among all messages, and it outlives those that are pruned.

-- Holds for everything; one row.
CREATE TABLE latches (
	only    INTEGER PRIMARY KEY CHECK (only = 1),
	stopped INTEGER NOT NULL DEFAULT 0 -- nothing is typed until a person resumes all
) STRICT;
INSERT INTO latches (only) VALUES (1);

ALTER TABLE sessions ADD COLUMN changed INTEGER NOT NULL DEFAULT 0; -- seq of its newest event
ALTER TABLE sessions ADD COLUMN last INTEGER NOT NULL DEFAULT 1;    -- depth of its newest message
ALTER TABLE sessions ADD COLUMN cause INTEGER NOT NULL DEFAULT -1;  -- greatest depth of what was typed to it since; -1: nothing was

ALTER TABLE chats ADD COLUMN name TEXT NOT NULL DEFAULT '' COLLATE NOCASE;
ALTER TABLE chats ADD COLUMN turns INTEGER NOT NULL DEFAULT 0; -- messages of that kind
ALTER TABLE chats ADD COLUMN depth INTEGER NOT NULL DEFAULT 0; -- greatest so far
ALTER TABLE chats ADD COLUMN waits INTEGER NOT NULL DEFAULT 0; -- that were ever written to the table waits
CREATE INDEX chats_by_short ON chats (substr(id, -8));
CREATE INDEX chats_by_name ON chats (name, seq);

-- From the end of a turn until it was taken, of the latest 1024 deliveries of each chat: a
-- ring.
CREATE TABLE waits (
	chat TEXT NOT NULL,
	slot INTEGER NOT NULL,
	ns   INTEGER NOT NULL,
	PRIMARY KEY (chat, slot)
) STRICT, WITHOUT ROWID;

-- How many deliveries of a chat are in each state.
CREATE TABLE tallies (
	chat  TEXT NOT NULL, -- '': of no chat
	state TEXT NOT NULL,
	n     INTEGER NOT NULL,
	PRIMARY KEY (chat, state)
) STRICT, WITHOUT ROWID;

-- From here on, open says that a delivery has no final receipt and was not submitted.
-- Parked is an open one that is held for an agent that has gone: it is kept, but nobody
-- hands it out any more.
ALTER TABLE deliveries ADD COLUMN target TEXT NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN state TEXT NOT NULL DEFAULT ''; -- of its last receipt
ALTER TABLE deliveries ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;

UPDATE deliveries SET
	target = coalesce(json_extract(doc, '$.target'), ''),
	state = coalesce((SELECT json_extract(r.doc, '$.state') FROM receipts r WHERE r.seq = deliveries.last), '');
UPDATE deliveries SET open = 0 WHERE open AND state = 'submitted';
UPDATE deliveries SET parked = 1 WHERE open AND state = 'held'
	AND (SELECT json_extract(r.doc, '$.reason') FROM receipts r WHERE r.seq = deliveries.last) IN
		('agent gone', 'pane is dead', 'pane runs another process', 'pane is gone', 'tmux server ended')
	AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = deliveries.target AND s.present);

CREATE INDEX deliveries_under_way ON deliveries (seq) WHERE open AND NOT parked;
DROP INDEX deliveries_open;
CREATE INDEX deliveries_open ON deliveries (chat, seq) WHERE open;
CREATE INDEX deliveries_of_last ON deliveries (last); -- a receipt that is pruned must not make SQLite look through all of them

INSERT INTO tallies (chat, state, n)
	SELECT coalesce(chat, ''), state, count(*) FROM deliveries WHERE state <> '' GROUP BY 1, 2;

UPDATE sessions SET changed = coalesce(
	(SELECT e.seq FROM (SELECT json_extract(doc, '$.id') AS id, max(seq) AS seq FROM events WHERE kind = 'session' GROUP BY 1) e
		WHERE e.id = sessions.id), 0);

UPDATE sessions SET last = n.depth
	FROM (SELECT json_extract(doc, '$.from.session') AS author, max(seq), json_extract(doc, '$.depth') AS depth FROM messages GROUP BY 1) n
	WHERE n.author = sessions.id;

-- What counts as a cause is in commit.go, at stepper.caused.
WITH
	newest AS (SELECT json_extract(doc, '$.from.session') AS author, max(seq) AS seq FROM messages GROUP BY 1),
	typed AS (
		SELECT d.target, r.seq, json_extract(coalesce(d.envelope, m.doc), '$.depth') AS depth,
			json_extract(coalesce(d.envelope, m.doc), '$.origin') = 'human' AS person, json_extract(r.doc, '$.state') AS state
		FROM receipts r JOIN deliveries d ON d.seq = r.delivery JOIN messages m ON m.seq = d.message
		LEFT JOIN newest n ON n.author = d.target
		WHERE json_extract(r.doc, '$.state') IN ('typed', 'submitted', 'uncertain') AND r.seq > coalesce(n.seq, 0)
	),
	person AS (SELECT target, max(seq) AS seq FROM typed WHERE person AND state <> 'typed' GROUP BY 1),
	causes AS (
		SELECT t.target, max(CASE WHEN NOT t.person AND t.seq > coalesce(p.seq, 0) THEN t.depth WHEN p.seq IS NOT NULL THEN 0 ELSE -1 END) AS depth
		FROM typed t LEFT JOIN person p ON p.target = t.target GROUP BY 1
	)
UPDATE sessions SET cause = c.depth FROM causes c WHERE c.target = sessions.id;

UPDATE chats SET name = coalesce(json_extract(doc, '$.name'), '');
UPDATE chats SET turns = t.turns, depth = t.depth
	FROM (
		SELECT json_extract(doc, '$.thread') AS thread, sum(json_extract(doc, '$.type') = 'turn') AS turns, max(json_extract(doc, '$.depth')) AS depth
		FROM messages GROUP BY 1
	) t
	WHERE t.thread = chats.id;

INSERT INTO waits (chat, slot, ns)
	SELECT chat, n % 1024, max(0, ms) * 1000000 FROM (
		SELECT d.chat AS chat, row_number() OVER (PARTITION BY d.chat ORDER BY r.seq) - 1 AS n, count(*) OVER (PARTITION BY d.chat) AS total,
			CAST(round(1000 * (unixepoch(json_extract(r.doc, '$.at'), 'subsec') - unixepoch(json_extract(m.doc, '$.created'), 'subsec'))) AS INTEGER) AS ms
		FROM receipts r JOIN deliveries d ON d.seq = r.delivery JOIN messages m ON m.seq = d.message
		WHERE d.chat IS NOT NULL AND json_extract(r.doc, '$.state') = 'submitted' AND json_extract(m.doc, '$.type') = 'turn'
	) WHERE n >= total - 1024 AND ms IS NOT NULL;
UPDATE chats SET waits = w.n FROM (SELECT chat, max(slot) + 1 AS n FROM waits GROUP BY 1) w WHERE w.chat = chats.id;
