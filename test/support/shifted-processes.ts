import { mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../src/core/kit/index.ts'
import { systemClock } from '../../src/node/index.ts'

/** Runs in each process before its program: the time of day is that of the machine and an offset, which a file has. Durations are unchanged. */
const preload = `
import { readFileSync } from 'node:fs'
const file = process.env.TEST_CLOCK_OFFSET
const Real = Date
let [offset, readAt] = [0, -Infinity]
const now = () => {
  const at = performance.now()
  if (at - readAt > 20) [offset, readAt] = [Number(readFileSync(file, 'utf8')), at]
  return Real.now() + offset
}
globalThis.Date = new Proxy(Real, {
  construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [now()] : args, made === Date ? target : made),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})
`

/** One time of day for this process and those with `env`, which `moveTo` sets while they run. */
export function shiftedProcesses(start: string) {
  const folder = mkdtempSync(join(tmpdir(), 'tenantry-clock-'))
  const [program, file] = [join(folder, 'clock.mjs'), join(folder, 'offset')]
  let offsetMs = 0
  const moveTo = (at: string) => {
    offsetMs = Date.parse(at) - Date.now()
    writeFileSync(`${file}.new`, String(offsetMs))
    renameSync(`${file}.new`, file)
  }
  writeFileSync(program, preload)
  moveTo(start)
  const clock: Clock = { ...systemClock, now: () => new Date(Date.now() + offsetMs) }
  return { clock, moveTo, env: { NODE_OPTIONS: `--import=${program}`, TEST_CLOCK_OFFSET: file } }
}
