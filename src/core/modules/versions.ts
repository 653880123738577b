import semver from 'semver'
import { problem } from '../kit/index.ts'
import type { ModuleManifest } from './manifest.ts'

/** The version of the interface between modules and the platform (`svc`, events, routes); not the version of this package. */
const coreVersion = '1.0.0'

/** Throws INCOMPATIBLE unless the module supports this version of the module interface. */
export function assertCompatible({ id, version, svcCoreVersion }: Pick<ModuleManifest, 'id' | 'version' | 'svcCoreVersion'>): void {
  if (semver.satisfies(coreVersion, svcCoreVersion)) return
  throw problem(
    'INCOMPATIBLE',
    `${id} ${version} needs the module interface ${svcCoreVersion}; this platform has ${coreVersion}. fix: use a version of ${id} for ${coreVersion}`,
  )
}

/** Throws VERSION_EXISTS unless the version is greater than every approved one. */
export function assertNewVersion(version: string, approved: readonly string[]): void {
  const [newest] = semver.rsort([...approved])
  if (newest === undefined || semver.gt(version, newest)) return
  throw problem(
    'VERSION_EXISTS',
    `Version ${version} is not greater than ${newest}, which is approved. fix: raise the version in module.json`,
  )
}

/** True if one letter was added, removed, replaced or swapped with its neighbour: a name that a person mistakes for the other. */
export function isOneEditApart(a: string, b: string): boolean {
  if (a === b || Math.abs(a.length - b.length) > 1) return false
  let from = 0
  while (from < Math.min(a.length, b.length) && a[from] === b[from]) from++
  const [restA, restB] = [a.slice(from), b.slice(from)]
  const isSwapped = restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2)
  return restA.slice(1) === restB.slice(1) || restA.slice(1) === restB || restA === restB.slice(1) || isSwapped
}

export const isNewer = (version: string, than: string): boolean => semver.gt(version, than)
