import { boardFromBundle, checkBoard, type FlowBundle, roomsNamed } from '../boards/index.ts'
import { type FieldReason, problem } from '../kit/index.ts'
import type { ModuleManifest } from '../modules/index.ts'
import type { AppBundle } from './submission.ts'

const maxReasons = 100

/**
 * Checks the flow of a bundle as a template: parameters may be open, rooms of one tenant may not be named. Returns its warnings. Throws VALIDATION
 * with a path for each fault.
 */
export function checkFlow(bundle: FlowBundle, roles: ReadonlySet<string>): string[] {
  const { definition } = boardFromBundle(bundle)
  const rooms = roomsNamed(definition).map(({ path }) => ({
    path: `bundle.templateExport.${path}`,
    reason: 'names a room of one organisation. fix: use "space", or a parameter: {"room": "staff"}',
  }))
  const findings = checkBoard(definition, { roles, rooms: new Set() }, { isTemplate: true })
  const errors = findings
    .filter(({ severity, code }) => severity === 'error' && !(rooms.length > 0 && code === 'ROOM_UNKNOWN'))
    .map(({ elementId, message }) => ({
      path: elementId === null ? 'bundle.templateExport' : `bundle.templateExport.components.${elementId}`,
      reason: message,
    }))
  assertNone([...rooms, ...errors])
  return findings.filter(({ severity }) => severity === 'warning').map(({ elementId, message }) => `${elementId ?? 'board'}: ${message}`)
}

/** Checks an app against the approved module with its feature flag. Returns warnings for the reviewer. Throws VALIDATION. */
export function checkApp({ manifest }: AppBundle, found: ModuleManifest | undefined): string[] {
  const { permissions } = manifest
  const repeated = permissions.flatMap((one, nth) =>
    permissions.indexOf(one) === nth ? [] : [{ path: `bundle.manifest.permissions.${nth}`, reason: `repeats ${one}` }],
  )
  assertNone(repeated)
  assertNone(undeclaredBy({ manifest }, found))
  return appWarnings({ manifest }, found)
}

/** Permissions of an app that its module, approved meanwhile perhaps, does not declare: no tenant would grant them. */
export const undeclaredBy = ({ manifest: { permissions } }: AppBundle, found: ModuleManifest | undefined): FieldReason[] =>
  permissions.flatMap((one, nth) =>
    found === undefined || found.permissions.includes(one)
      ? []
      : [{ path: `bundle.manifest.permissions.${nth}`, reason: `${one} is not declared by the module ${found.id} ${found.version}` }],
  )

/** Warnings for the reviewer, by the modules that are approved now. */
export function appWarnings({ manifest }: AppBundle, found: ModuleManifest | undefined): string[] {
  const { moduleKey, featureFlag, permissions } = manifest
  if (!found)
    return [`No approved module has the feature flag ${featureFlag} yet; tenants can install the app once ${moduleKey} is approved.`]
  const undeclared = undeclaredBy({ manifest }, found).map(({ reason }) => `The permission ${reason}: it cannot be approved like this.`)
  const missing = found.permissions.filter((one) => !permissions.includes(one))
  const without = missing.length === 0 ? [] : [`The module ${found.id} declares ${missing.join(', ')} too; the app installs it without.`]
  const otherKey = found.id === moduleKey ? [] : [`The feature flag ${featureFlag} belongs to the module ${found.id}, not to ${moduleKey}.`]
  return [...undeclared, ...without, ...otherKey, ...priceWarning(found)]
}

function priceWarning({ id, billing }: ModuleManifest): string[] {
  if (!billing || billing.monthlyPrice === 0) return []
  const price = `${billing.monthlyPrice.toFixed(2)} ${billing.currency.toUpperCase()}`
  return [`The module ${id} costs ${price} a month itself. Tenants are charged for both: the module and the app.`]
}

function assertNone(faults: readonly FieldReason[]): void {
  const [first] = faults
  if (!first) return
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : ''
  throw problem('VALIDATION', `${first.path}: ${first.reason}${more}`, { details: faults.slice(0, maxReasons) })
}
