-- The last state of what a protocol keeps, whatever that is: handshakes, subscriptions, cursors.
CREATE TABLE records (
	kind    TEXT NOT NULL,
	id      TEXT NOT NULL,
	open    INTEGER NOT NULL, -- who starts must know of it
	changed INTEGER NOT NULL, -- when it was written down, in nanoseconds since 1970
	doc     TEXT NOT NULL,    -- JSON
	PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX records_open ON records (kind, id) WHERE open;
CREATE INDEX records_closed ON records (changed) WHERE NOT open;
