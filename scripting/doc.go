// Package scripting asks the policies that people write in Lua what should happen to a message, and prevents the
// scripts from doing harm.
//
// The scripts do not run here. They run in a worker: this program again, as `intercom policy-worker`, with no
// descriptors but its pipes, no environment and little memory. A worker that does not answer is killed and replaced
// (package worker is its code, the only package that knows Lua). A script returns what it wants to happen as data, a
// Verdict; none of it has happened until the caller has written it down.
//
// # How it is used
//
//	engine := scripting.New(scripting.Options{})
//	set, err := engine.Compile(ctx, files) // aside: the set in use stays in use
//	previous := engine.Use(set)            // from now on the new set is asked
//	verdict, err := engine.Evaluate(ctx, input)
//	… one transaction: the verdict, its deliveries, its effects …
//	engine.Commit(verdict)                 // what scripts remember
//
// Evaluate always returns a verdict that decides about every recipient. An error with it explains why the verdict is
// not the scripts' own; the caller may report it. The message is then held, or a person is asked, as the strictest hook
// that could not run demands (policy.Hook.Failure). A verdict that is Unfiltered must be evaluated anew before its text
// leaves, even if a person approves it.
//
// Messages are evaluated one at a time, in the order of the calls. For exact counts, commit each verdict before the
// next message is evaluated.
//
// # What a script may use
//
//	200,000 instructions and 250 ms for each call of a function; 2,000,000 and 1 s to run a
//	person's file, but only the limits of a call to run an untrusted file of a project
//	64 KiB for a file, nested at most 200 deep; 64 files
//	1 MiB for a text that string.rep, string.format or table.concat makes, 2 MiB for one of re:replace
//	384 MiB for the worker, with all that it runs
//	1 s for a message, including further tries in new workers
//	2 s for each file and 10 s for all files to load them into a worker
//
// The time of a call is checked between instructions. If a single instruction is slow, such as a match of one of Lua's
// own patterns, the worker is killed.
//
// A worker that ends or does not answer is replaced at once, and the message is evaluated again; this time the worker
// announces each script before it runs it. If no worker is ready in time, the message is undecided with ErrLater and
// must be evaluated anew. A script that ends a worker on such a second try, or that has ended two workers with no good
// evaluation in between, is quarantined: until the set is compiled anew, each of its hooks counts as failed. After five
// deaths within a minute no worker is started for a minute (Status says so).
package scripting
