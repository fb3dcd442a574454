-- What each policy remembers from one message to the next, as the last verdict left it.
CREATE TABLE memories (
	script TEXT PRIMARY KEY, -- the name of its file
	doc    BLOB NOT NULL
) STRICT, WITHOUT ROWID;
