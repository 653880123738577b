import { boxCommands, type LogLine, type Service } from '../../core/boxes/index.ts'
import type { CommandExecutor, ContainerEngine, LocalBox } from '../ports/index.ts'
import { boxOfCommand, type LocalBoxes } from './local-boxes.ts'

type Deps = Readonly<{ engine: ContainerEngine; boxes: LocalBoxes }>
type Wanted = Readonly<{ services: readonly Service[]; lines: number; since?: string | undefined }>

/** What the services of a box printed. Nothing is left out of it: whoever shows it to a person makes it printable. */
export const logs =
  (deps: Deps): CommandExecutor<'tenant-box.logs'> =>
  async (_, given) => {
    const payload = boxCommands['tenant-box.logs'].payload.parse(given)
    return { lines: await logLines(deps.engine, await boxOfCommand(deps.boxes, payload), payload) }
  }

/** The newest lines of all named services in the order of the engine's clock, as many as fit into one result. */
export async function logLines(engine: ContainerEngine, box: LocalBox, { services, lines, since }: Wanted): Promise<LogLine[]> {
  const containers = (await engine.containers(box.project)).filter(({ service }) => services.includes(service))
  const options = { timestamps: true, ...(since === undefined ? {} : { since }) }
  const printed = await Promise.all(
    containers.map(async ({ id, service }) => parseLog(service, await engine.logs(id, lines, options).catch(unlessGone))),
  )
  const after = printed.flat().filter(({ at }) => since === undefined || comparable(at) > comparable(since))
  return newestThatFit(after.sort((a, b) => compare(comparable(a.at), comparable(b.at))).slice(-lines))
}

// A container that was recreated meanwhile has no log any more.
function unlessGone(error: unknown): string {
  if (/no such container/i.test((error as Error).message)) return ''
  throw error
}

const longestText = 4_000
/** Below what the channel takes, with room for the frame around it. */
const mostBytes = 900_000

function parseLog(service: Service, printed: string): LogLine[] {
  return printed.split('\n').flatMap((line) => {
    const [, at, text] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z) ?(.*)$/s.exec(line) ?? []
    return at === undefined ? [] : { at, service, text: wellFormed((text ?? '').slice(0, longestText)) }
  })
}

// The cut may have gone through a character.
const wellFormed = (text: string): string => Buffer.from(text).toString('utf8')

/** Engines tell up to nine digits of a second, and leave them away when they are zero. */
const comparable = (time: string): string => {
  const [seconds = '', fraction = ''] = time.replace(/Z$/, '').split('.')
  return `${seconds}.${fraction.padEnd(9, '0')}`
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function newestThatFit(lines: readonly LogLine[]): LogLine[] {
  let bytes = 0
  const first = lines.findLastIndex((line) => {
    bytes += Buffer.byteLength(JSON.stringify(line)) + 1
    return bytes > mostBytes
  })
  return lines.slice(first + 1)
}
