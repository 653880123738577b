import { problem } from '../kit/index.ts'

type Claim = Readonly<{
  flag: string
  moduleId: string
  /** The module that has the flag already. */
  owner: string | null
  /** A tenant or the settings set the flag by hand. */
  isSetByHand: boolean
}>

/** Throws FLAG_TAKEN: a module must not switch on a feature that is not its own. */
export function assertFlagFree({ flag, moduleId, owner, isSetByHand }: Claim): void {
  if (owner !== null && owner !== moduleId)
    throw problem('FLAG_TAKEN', `The feature flag ${flag} belongs to the module ${owner}. fix: use another featureFlag in module.json`)
  if (owner === null && isSetByHand)
    throw problem('FLAG_TAKEN', `The feature flag ${flag} is a flag of this platform. fix: use another featureFlag in module.json`)
}

/** Flags of a tenant with those of its active modules; a flag that was set to false by hand stays false. */
export const withModuleFlags = (
  stored: Readonly<Record<string, boolean>>,
  active: readonly string[],
): Readonly<Record<string, boolean>> => ({ ...Object.fromEntries(active.map((flag) => [flag, true])), ...stored })
