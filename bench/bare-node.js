// What the machine itself takes at this hour: a program is only as fast as that, and the hours of a shared machine differ by half.
import { execFileSync } from 'node:child_process'
import { sized } from './size.js'

/** CPU time in milliseconds, user and system, of one `node <args>`, as the shell accounts for it. */
export function cpuMs(...args) {
  const script = `TIMEFORMAT='%3U %3S'; time "$0" "$@" >/dev/null 2>&1`
  const printed = execFileSync('bash', ['-c', `{ ${script}; } 2>&1`, process.execPath, ...args], { encoding: 'utf8' })
  return printed
    .trim()
    .split(' ')
    .reduce((sum, seconds) => sum + Number(seconds) * 1000, 0)
}

export const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]

const runs = sized(7, 1)
/** Always the same work, in code that is compiled: no start, no memory, no disk. */
const loop = 'let sum = 0; for (let n = 0; n < 4e7; n++) sum = (sum * 31 + n) | 0; process.exitCode = sum === 1 ? 1 : 0'

/** A Node.js that does nothing, and one that runs a fixed loop: medians of their CPU time. */
export function bareNode() {
  const taken = Array.from({ length: runs }, () => ({ start: cpuMs('-e', '0'), loop: cpuMs('-e', loop) }))
  return { start: median(taken.map((one) => one.start)), loop: median(taken.map((one) => one.loop)) }
}

/** One sentence that two runs can be compared by. */
export function hourOf(begin, end) {
  const pair = (name) => `${Math.round(begin[name])} ms before and ${Math.round(end[name])} ms after`
  return `CPU time of Node.js itself: \`node -e 0\` ${pair('start')}, a fixed loop ${pair('loop')}.`
}
