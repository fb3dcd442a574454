-- Everything that happened, in its order. Messages and receipts have tables of their own
-- under the same seq; a session and a chat are kept here as they were at that moment.
CREATE TABLE events (
	seq  INTEGER PRIMARY KEY,
	at   INTEGER NOT NULL, -- when it was written down, in nanoseconds since 1970
	kind TEXT NOT NULL,
	chat TEXT,             -- NULL: of no chat
	doc  TEXT              -- session, chat: JSON; notice: the text; else NULL
) STRICT;
CREATE INDEX events_of_chat ON events (chat, seq) WHERE chat IS NOT NULL;

-- As they are now.
CREATE TABLE sessions (
	seq     INTEGER PRIMARY KEY,
	id      TEXT NOT NULL UNIQUE,
	present INTEGER NOT NULL,
	doc     TEXT NOT NULL
) STRICT;
CREATE INDEX sessions_present ON sessions (seq) WHERE present;

CREATE TABLE chats (
	seq   INTEGER PRIMARY KEY,
	id    TEXT NOT NULL UNIQUE,
	ended INTEGER NOT NULL,
	doc   TEXT NOT NULL
) STRICT;
CREATE INDEX chats_by_end ON chats (ended, seq);

CREATE TABLE messages (
	seq     INTEGER PRIMARY KEY REFERENCES events (seq),
	id      TEXT NOT NULL UNIQUE,
	doc     TEXT NOT NULL,              -- the envelope without its body
	body    TEXT NOT NULL,              -- as it was received
	said    TEXT,                       -- what a verdict put in the place of body
	decided INTEGER NOT NULL DEFAULT 0, -- has a verdict
	passed  INTEGER NOT NULL DEFAULT 0  -- a verdict let it out: it may be found
) STRICT;
CREATE INDEX messages_by_short ON messages (substr(id, -8));
CREATE INDEX messages_undecided ON messages (seq) WHERE NOT decided;

CREATE TABLE verdicts (
	seq     INTEGER PRIMARY KEY,
	message INTEGER NOT NULL REFERENCES messages (seq),
	doc     TEXT NOT NULL, -- without its body
	body    TEXT
) STRICT;
CREATE INDEX verdicts_of_message ON verdicts (message);

CREATE TABLE deliveries (
	seq      INTEGER PRIMARY KEY,
	id       TEXT NOT NULL UNIQUE,
	message  INTEGER NOT NULL REFERENCES messages (seq),
	chat     TEXT,
	doc      TEXT NOT NULL,              -- without its message
	envelope TEXT,                       -- where it is not the message's own
	body     TEXT,                       -- where it is not the message's own
	open     INTEGER NOT NULL DEFAULT 1, -- has no final receipt
	typed    INTEGER NOT NULL DEFAULT 0, -- a receipt says that bytes may have reached the pane
	last     INTEGER REFERENCES receipts (seq) DEFERRABLE INITIALLY DEFERRED
) STRICT;
CREATE INDEX deliveries_by_short ON deliveries (substr(id, -8));
CREATE INDEX deliveries_of_message ON deliveries (message);
CREATE INDEX deliveries_open ON deliveries (seq) WHERE open;

CREATE TABLE receipts (
	seq      INTEGER PRIMARY KEY REFERENCES events (seq),
	delivery INTEGER REFERENCES deliveries (seq),
	message  INTEGER REFERENCES messages (seq),
	doc      TEXT NOT NULL, -- without its words
	words    TEXT NOT NULL
) STRICT;
CREATE INDEX receipts_of_message ON receipts (message);
CREATE INDEX receipts_of_delivery ON receipts (delivery);

-- The words of what a verdict let out, by the seq of its message. The text itself is not
-- kept a second time.
CREATE VIRTUAL TABLE words USING fts5 (
	body, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
