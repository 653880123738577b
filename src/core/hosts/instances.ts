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

/** When and by which instance a key was replaced. */
export type KeyReplacement = Readonly<{ at: string; by: string | null }>

/**
 * Classifies a validly signed call by a replaced key. `own`: the instance that replaced the key, whose calls may be on the way or whose response
 * was lost. Every other agent knows the new key, so after the grace period the call proves a copy of the key: `stolen`.
 */
export function classifyReplacedKey({ at, by }: KeyReplacement, id: string, now: Date): 'own' | 'late' | 'stolen' {
  if (id === by) return 'own'
  return now.getTime() - Date.parse(at) <= graceMs ? 'late' : 'stolen'
}

/** Makes a new instance current and retires the former. */
export const withNewInstance = ({ current, retired }: Instances, id: string, now: Date): Instances => ({
  current: id,
  retired: current === null ? retired : [{ id: current, at: now.toISOString() }, ...retired].slice(0, maxRetired),
})
