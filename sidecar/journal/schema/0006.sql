-- A message says in which chat it was said, apart from the conversation that its protocol names:
-- what older versions called its thread was the one or the other.
UPDATE messages SET doc = json_set(doc, '$.chat', json_extract(doc, '$.thread')) WHERE coalesce(json_extract(doc, '$.thread'), '') <> '' AND (
	json_extract(doc, '$.type') IN ('turn', 'last', 'say') AND json_extract(doc, '$.origin') = 'agent' AND coalesce(json_array_length(doc, '$.to'), 0) = 0
	OR json_extract(doc, '$.type') = 'say' AND json_extract(doc, '$.origin') = 'human'
	OR json_extract(doc, '$.type') = 'notice' AND json_extract(doc, '$.origin') = 'system');
UPDATE deliveries SET envelope = json_set(envelope, '$.chat', json_extract(envelope, '$.thread')) WHERE coalesce(json_extract(envelope, '$.thread'), '') <> '' AND (
	json_extract(envelope, '$.type') IN ('turn', 'last', 'say') AND json_extract(envelope, '$.origin') = 'agent' AND coalesce(json_array_length(envelope, '$.to'), 0) = 0
	OR json_extract(envelope, '$.type') = 'say' AND json_extract(envelope, '$.origin') = 'human'
	OR json_extract(envelope, '$.type') = 'notice' AND json_extract(envelope, '$.origin') = 'system');
