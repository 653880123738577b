// The frame of the command line: how a command is declared, parsed and run, how results and failures look, who is asked and when.
// It knows no room and imports nothing heavy before a command runs: help must be instant.

export { mustConfirm } from './ask.ts'
export { type Command, command, type Noun, named, noun, type Tree } from './command.ts'
export type { Context } from './context.ts'
export { clean, fields, sections } from './fields.ts'
export { type Look, type Paint, padEnd, padStart, paintWith, shorten } from './look.ts'
export { count, flag, list, oneOf, required, share, text } from './options.ts'
export { readTextFile } from './read-text-file.ts'
export { runCommandLine } from './run.ts'
export { type Column, table } from './table.ts'
export { tableWithText } from './table-with-text.ts'
export type { Output } from './terminal.ts'
export { ago, lasted, momentOf, stamp } from './when.ts'
