import { cpuMs, median } from './bare-node.js'
import { sized } from './size.js'

const runs = sized(15, 1)
const bin = new URL('../bin/tenantry.js', import.meta.url).pathname

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
