import { problem } from '../kit/index.ts'

/** Loopback ports of a box's edge: for clients, for the platform, for the probe. */
export type BoxPorts = Readonly<{ public: number; platform: number; probe: number }>

const portsPerBox = 3
const lastPort = 65_535

export const portsFrom = (first: number): BoxPorts => ({ public: first, platform: first + 1, probe: first + 2 })

/**
 * The lowest three consecutive free ports from `firstPort` on; `taken` has the first ports of the host's other boxes.
 * Throws PORT_TAKEN when none are free.
 */
export function allocatePorts(taken: readonly number[], firstPort: number): BoxPorts {
  let first = firstPort
  for (const other of [...taken].sort((a, b) => a - b)) {
    if (other + portsPerBox <= first) continue
    if (other >= first + portsPerBox) break
    first = other + portsPerBox
  }
  if (first + portsPerBox - 1 > lastPort)
    throw problem(
      'PORT_TAKEN',
      `the host has no three consecutive free ports from ${firstPort} on. fix: lower boxes.firstPort, or use another host`,
    )
  return portsFrom(first)
}
