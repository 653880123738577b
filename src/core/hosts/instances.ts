/** The running agents that a host's key has had: the one that said hello last, and those before it, newest first. */
export type Instances = Readonly<{ current: string | null; retired: readonly Readonly<{ id: string; at: string }>[] }>

export const noInstances: Instances = { current: null, retired: [] }

const remembered = 20
/** Requests of an agent that was killed may still be on their way when its successor says hello. */
const graceMs = 5000

/**
 * What a call under an instance id means. An agent that restarts takes a new id and never speaks under the old one again, so a retired id
 * that speaks is a second agent with a copy of the key: `twice` (SECURITY, Agents).
 */
export function judgeInstance({ current, retired }: Instances, id: string, now: Date): 'current' | 'unknown' | 'late' | 'twice' {
  if (id === current) return 'current'
  const old = retired.find((one) => one.id === id)
  if (!old) return 'unknown'
  return now.getTime() - Date.parse(old.at) <= graceMs ? 'late' : 'twice'
}

/** A new instance said hello: it is the current one, the former retires. */
export const welcomeInstance = ({ current, retired }: Instances, id: string, now: Date): Instances => ({
  current: id,
  retired: current === null ? retired : [{ id: current, at: now.toISOString() }, ...retired].slice(0, remembered),
})
