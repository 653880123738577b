// The CLI framework: declares, parses and runs commands, renders results and errors, prompts for input.
// It knows no feature.
// It imports nothing heavy before a command runs, so that help is instant.

export {
  type Command,
  command,
  count,
  flag,
  hidden,
  many,
  type Noun,
  nameOnly,
  noun,
  oneOf,
  period,
  required,
  share,
  type Tree,
  text,
} from './command.ts'
export type { Context } from './context.ts'
export { clean, fields, sections } from './fields.ts'
export { assertConfirmed, assertConfirmedOf, assertFolderOf, readFileBytes, readSecretLines, readTextFile } from './input.ts'
export { namedAsOptions } from './option-names.ts'
export { runCommandLine } from './program.ts'
export { type Paint, padEnd, padStart, paintWith, type Style, shorten, withAddress } from './style.ts'
export { type Column, table, tableWithText } from './table.ts'
export { bearerOf, tenantUser } from './tenant-user.ts'
export type { Output } from './terminal.ts'
export { ago, lasted, momentOf, stamp } from './when.ts'
