/** Agent instances that used a host's key: the one of the latest hello, and former ones, newest first. */
export type Instances = Readonly<{ current: string | null; retired: readonly Readonly<{ id: string; at: string }>[] }>

export const noInstances: Instances = { current: null, retired: [] }

const maxRetired = 20
/** Requests of a killed agent may arrive shortly after the hello of its successor. */
const graceMs = 5000

/**
 * Classifies a call by its instance id. A restarted agent takes a new id, so a call under a former id after the grace period proves a second
 * agent with a copy of the key: `twice`.
 */
export function classifyInstance({ current, retired }: Instances, id: string, now: Date): 'current' | 'unknown' | 'late' | 'twice' {
  if (id === current) return 'current'
  const old = retired.find((one) => one.id === id)
  if (!old) return 'unknown'
  return now.getTime() - Date.parse(old.at) <= graceMs ? 'late' : 'twice'
}

/** Makes a new instance current and retires the former. */
export const withNewInstance = ({ current, retired }: Instances, id: string, now: Date): Instances => ({
  current: id,
  retired: current === null ? retired : [{ id: current, at: now.toISOString() }, ...retired].slice(0, maxRetired),
})
