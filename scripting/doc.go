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
//	200,000 instructions and 250 ms for each call of a function, 2,000,000 and 1 s to load a file
//	64 KiB for a file, nested at most 200 deep; 64 files
//	1 MiB for each text that a function of the library makes
//	384 MiB for the worker, with all that it runs
//	1 s for a message in all, a second try in a new worker included; 2 s to load a file
//
// A worker that ends or does not answer is replaced, and the message evaluated once more,
// now with a note of what is being run. If that ends a worker again the script is
// quarantined: until the set is compiled anew each of its hooks counts as failed. After five
// deaths within a minute no worker is started for a minute (Status says so).
package scripting
