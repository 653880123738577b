import type { Clock } from '../../core/kit/index.ts'
import type { Api, StoredLogins } from './connection.ts'
import type { Ask } from './input.ts'
import type { Style } from './style.ts'
import type { Output, Progress } from './terminal.ts'

/** The effects a command may use; each command takes only the parts it needs. */
export type Context = Readonly<{
  api: Api
  /** The daemon's address. */
  url: string
  logins: StoredLogins
  /** TENANTRY_TOKEN is set and wins over a login. */
  byToken: boolean
  ask: Ask
  /** `--yes`: skip confirmations. */
  yes: boolean
  /** `--json`: stdout holds the result alone. */
  json: boolean
  progress: (firstLine: string) => Promise<Progress>
  clock: Clock
  /** All of stdin, for secrets that must not be on the command line. */
  readStdin: () => Promise<string>
  stdout: Output
  stderr: Output
  /** The style of stdout. */
  style: () => Style
  /** Writes a line for a person to stderr, folded to the width of that terminal. */
  notify: (text: string | ((style: Style) => string)) => void
  /** stdout is a terminal with a person, so a board may redraw itself; false in CI. */
  live: boolean
  /** Aborts at Ctrl-C. */
  signal: AbortSignal
}>
