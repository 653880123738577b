import { parseArgs } from 'node:util'
import { problem } from '../core/kit/index.ts'

/**
 * `docker`: real boxes. `exit`: stop after the rollout, for scripts. `port`: the daemon's port; without it 8440, or a free one where that is in use.
 */
export type DemoOptions = Readonly<{ docker: boolean; exit: boolean; help: boolean; port: number | undefined }>

export const usage = `Usage: npm run demo -- [options]

Options:
  --docker       two real boxes on the Docker engine of this machine, with the images of the test bed
  --exit         stop after the rollout, for scripts
  --port <port>  port of the daemon (default: 8440, or a free one)
  -h, --help     show help
`

/** Reads the options of the demo. Throws USAGE. */
export function demoOptions(args: readonly string[]): DemoOptions {
  const { docker, exit, help, port } = parsed(args)
  return { docker, exit, help, port: port === undefined ? undefined : portOf(port) }
}

function parsed(args: readonly string[]) {
  const boolean = { type: 'boolean', default: false } as const
  try {
    const options = { docker: boolean, exit: boolean, help: { ...boolean, short: 'h' }, port: { type: 'string' } } as const
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw problem('USAGE', `${(error as Error).message.split('. ')[0]}. fix: \`npm run demo -- --help\``)
  }
}

function portOf(text: string): number {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw problem('USAGE', `--port ${text} is not a port. fix: 1 to 65535`)
  return port
}
