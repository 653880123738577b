import { parseArgs } from 'node:util'
import { problem } from '../core/kit/index.ts'

/** `exit`: stop after the rollout, for scripts. `port`: the daemon's port; without it 8440, or a free one where that is in use. */
export type DemoOptions = Readonly<{ exit: boolean; help: boolean; port: number | undefined }>

export const usage = `Usage: npm run demo -- [options]

Options:
  --exit         stop after the rollout, for scripts
  --port <port>  port of the daemon (default: 8440, or a free one)
  -h, --help     show help
`

/** Reads the options of the demo. Throws USAGE. */
export function demoOptions(args: readonly string[]): DemoOptions {
  const { exit, help, port } = parsed(args)
  return { exit, help, port: port === undefined ? undefined : portOf(port) }
}

function parsed(args: readonly string[]) {
  const boolean = { type: 'boolean', default: false } as const
  try {
    return parseArgs({ args: [...args], options: { exit: boolean, help: { ...boolean, short: 'h' }, port: { type: 'string' } } }).values
  } catch (error) {
    throw problem('USAGE', `${(error as Error).message.split('. ')[0]}. fix: \`npm run demo -- --help\``)
  }
}

function portOf(text: string): number {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw problem('USAGE', `--port ${text} is not a port. fix: 1 to 65535`)
  return port
}
