import { execFileSync } from 'node:child_process'

const runs = 15
const bin = new URL('../bin/tenantry.js', import.meta.url).pathname

/** CPU time, user and system, of one `node <args>`, as the shell accounts for it. */
function cpuMs(...args) {
  const script = `TIMEFORMAT='%3U %3S'; time "$0" "$@" >/dev/null 2>&1`
  const printed = execFileSync('bash', ['-c', `{ ${script}; } 2>&1`, process.execPath, ...args], { encoding: 'utf8' })
  return printed
    .trim()
    .split(' ')
    .reduce((sum, seconds) => sum + Number(seconds) * 1000, 0)
}

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]

/** `tenantry --help`, beside a Node.js that does nothing. */
export function cliHelp() {
  const help = median(Array.from({ length: runs }, () => cpuMs(bin, '--help')))
  const nothing = median(Array.from({ length: runs }, () => cpuMs('-e', '0')))
  return [
    {
      what: '`tenantry --help`, CPU time',
      measured: `${Math.round(help)} ms (Node.js itself ${Math.round(nothing)} ms)`,
      reach: 'under 150 ms',
      ok: help < 150,
    },
  ]
}
