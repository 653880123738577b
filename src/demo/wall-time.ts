import type { CommandExecutors } from '../agent/ports/index.ts'

/**
 * What boxes do takes a fraction of its time here, and its agent measures the whole. What it tells is as anybody measures who looks on, as are the
 * times at which it tells it: the steps of an update then add up to how long it took. And an answer that somebody waits for has the time that
 * passes for them.
 */
export const inWallTime = (timesFaster: number, executors: CommandExecutors): CommandExecutors =>
  Object.fromEntries(
    Object.entries(executors).map(([kind, execute]) => [
      kind,
      async (context: unknown, payload: object) =>
        shortened(await (execute as (...all: unknown[]) => unknown)(context, lengthened(payload, timesFaster)), timesFaster),
    ]),
  ) as unknown as CommandExecutors

const lengthened = (payload: object, factor: number): object =>
  'withinMs' in payload ? { ...payload, withinMs: Number(payload.withinMs) * factor } : payload

/** Every duration in a result, by its name: `durationMs`, `fencedMs`, `tookMs`. */
function shortened(told: unknown, factor: number): unknown {
  if (Array.isArray(told)) return told.map((one) => shortened(one, factor))
  if (typeof told !== 'object' || told === null) return told
  return Object.fromEntries(
    Object.entries(told).map(([name, value]) => [
      name,
      typeof value === 'number' && name.endsWith('Ms') ? Math.round(value / factor) : shortened(value, factor),
    ]),
  )
}
