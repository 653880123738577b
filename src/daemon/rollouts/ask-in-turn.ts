import type { Clock } from '../../core/kit/index.ts'
import type { HostToAsk, RegistryAnswer, RegistryAnswers } from '../../core/rollouts/index.ts'

/** What a host says of each of the images, in the time that it is given. Never fails. */
export type AskHost = (host: HostToAsk, images: readonly string[], withinMs: number) => Promise<RegistryAnswers>

/** From a plan that is shown to the rollout that is made of it at once: that is the very same image then. */
const keptMs = 10_000

type Told = Readonly<{ answer: RegistryAnswer; untilMs: number }>
type Asked = { told: Map<string, Told>; turn: Promise<void> | undefined }

/**
 * Every plan makes hosts be asked, also those of people who may change nothing. An agent answers few questions at a time, and takes no work
 * while it is full of them: so one host has one question of plans at a time, and what it said counts for some seconds.
 * With less than `leastMs` left nothing is asked.
 */
export function askInTurn(clock: Clock, leastMs: number, ask: AskHost): AskHost {
  const hosts = new Map<string, Asked>()
  return async (host, images, withinMs) => {
    const untilMs = clock.monotonicMs() + withinMs
    const asked = hosts.get(host.hostId) ?? { told: new Map(), turn: undefined }
    hosts.set(host.hostId, asked)
    const known = toldOf(clock, asked, images)
    if (known.size === images.length) return known
    const end = await turn(clock, asked, withinMs)
    if (!end) return new Map([...busy(host, images), ...known])
    try {
      const before = toldOf(clock, asked, images)
      const open = images.filter((image) => !before.has(image))
      const leftMs = untilMs - clock.monotonicMs()
      if (leftMs < leastMs) return new Map([...busy(host, open), ...before])
      const answers = open.length > 0 ? await ask(host, open, leftMs) : []
      for (const [image, answer] of answers) asked.told.set(image, { answer, untilMs: clock.monotonicMs() + keptMs })
      return new Map([...before, ...answers])
    } finally {
      end()
    }
  }
}

/** What was said of the images a short time ago; what is older is forgotten. */
function toldOf(clock: Clock, { told }: Asked, images: readonly string[]): RegistryAnswers {
  for (const [image, { untilMs }] of told) if (untilMs <= clock.monotonicMs()) told.delete(image)
  return new Map(
    images.flatMap((image) => {
      const one = told.get(image)
      return one ? [[image, one.answer] as const] : []
    }),
  )
}

const busy = ({ hostName }: HostToAsk, images: readonly string[]): RegistryAnswers =>
  new Map(images.map((image) => [image, { digest: null, why: `${hostName}: other plans kept asking it` }]))

/** In the order in which they came. Answers what ends the turn; undefined when it did not come in time. */
async function turn(clock: Clock, asked: Asked, withinMs: number): Promise<(() => void) | undefined> {
  const before = asked.turn
  let end = (): void => undefined
  const mine = new Promise<void>((resolve) => {
    end = resolve
  })
  asked.turn = mine
  const over = () => {
    if (asked.turn === mine) asked.turn = undefined
    end()
  }
  if (!before || (await inTime(clock, before, withinMs))) return over
  void before.then(over)
  return undefined
}

async function inTime(clock: Clock, awaited: Promise<void>, ms: number): Promise<boolean> {
  const done = new AbortController()
  const isInTime = await Promise.race([awaited.then(() => true), clock.sleep(ms, done.signal).then(() => false)])
  done.abort()
  return isInTime
}
