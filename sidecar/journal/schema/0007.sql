-- From here on a delivery has its message as it is, and whoever types it puts the text together.
-- Older versions put the subject into the body. Where it stands there just as it will be put there
-- again, it is taken out; any other body of a message with a subject is typed as it is. Either way
-- the text that is typed, or was, stays the same, byte for byte.
WITH
	titled AS (
		SELECT d.seq, d.doc, d.body, m.body AS said, CAST(coalesce(d.body, m.body) AS BLOB) AS text,
			json_extract(coalesce(d.envelope, m.doc), '$.subject') AS subject
		FROM deliveries d JOIN messages m ON m.seq = d.message
		WHERE json_extract(coalesce(d.envelope, m.doc), '$.subject') <> ''
	),
	-- A subject with no white space but single blanks between words is shown as it is.
	rendered AS (
		SELECT seq, doc, body, said, text, CAST('Subject: ' || subject || char(10, 10) AS BLOB) AS line,
			subject = trim(subject) AND subject NOT GLOB '*  *' AND subject NOT GLOB '*[' || char(9, 10, 11, 12, 13, 0x85, 0xa0, 0x1680) ||
				char(0x2000) || '-' || char(0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000) || ']*' AS plain
		FROM titled
	),
	parted AS (
		SELECT seq, doc, body, said, CASE WHEN plain AND substr(text, 1, length(line)) = line
			THEN CAST(substr(text, length(line) + 1) AS TEXT) END AS rest
		FROM rendered
	)
UPDATE deliveries SET
	doc = CASE WHEN p.rest IS NULL THEN json_set(p.doc, '$.as_is', json('true')) ELSE p.doc END,
	body = CASE WHEN p.rest IS NULL THEN p.body ELSE nullif(p.rest, p.said) END
FROM parted p WHERE p.seq = deliveries.seq;
