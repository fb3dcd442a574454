// Package scripting asks the policies that people write in Lua what becomes of a message,
// and keeps what they do from harming anything.
//
// The scripts do not run here. They run in a worker: this program again, as
// `intercom policy-worker`, without descriptors, environment or much memory, which is killed
// when it does not answer and started anew (package worker is its inside, the only one that
// knows Lua). What a script wants to happen comes back as data, a Verdict; nothing of it has
// happened until the caller has written it down.
//
// # How it is used
//
//	engine := scripting.New(scripting.Options{})
//	set, err := engine.Compile(ctx, files) // aside: what is in use stays in use
//	previous := engine.Use(set)            // from now on it is asked
//	verdict, err := engine.Evaluate(ctx, input)
//	… one transaction: the verdict, its deliveries, its effects …
//	engine.Commit(verdict)                 // what scripts remember
//
// Evaluate always returns a verdict that decides about every recipient. An error beside it
// says why it is not what the scripts would have said, for whoever reports it; the message is
// then asked about or held, as the strictest of the hooks that could not run demands
// (policy.Hook.Failure). A verdict that is Unfiltered must be evaluated anew before its text
// leaves, also after a person's yes.
//
// Messages are evaluated one at a time, in the order of the calls. For exact counts commit
// each verdict before the next message is evaluated.
//
// # What a script may use
//
//	200,000 instructions and 250 ms for each call of a function; 2,000,000 and 1 s to run a
//	person's file, as much as for a call to run a project's that is not trusted
//	64 KiB for a file, nested at most 200 deep; 64 files
//	1 MiB for a text that string.rep, string.format or table.concat makes, 2 MiB for one of re:replace
//	384 MiB for the worker, with all that it runs
//	1 s for a message, further tries in new workers included
//	2 s for each file and 10 s for all files to load them into a worker
//
// The times of a call are looked at between instructions. What is slow in a single one, such
// as a pattern of Lua's own, is ended with the worker.
//
// A worker that ends or does not answer is replaced at once, and the message evaluated again, now
// with a note of what is being run. A message for which there is no worker in time is undecided
// with ErrLater: it is to be evaluated anew. If a script ends a worker then, or is found to have ended two
// with no good evaluation in between, it is quarantined: until the set is compiled anew each
// of its hooks counts as failed. After five deaths within a minute no worker is started for a
// minute (Status says so).
package scripting
