import { parse } from 'yaml'
import { isProblem, problem, type SystemActor } from '../../core/kit/index.ts'
import { applyManifest, type ManifestDeps } from './apply-manifest.ts'
import { newestManifest } from './manifests.repo.ts'

const actor: SystemActor = { kind: 'system', name: 'start' }

/**
 * Takes the manifest file in at the first start; later the file says nothing any more, only `tenantry manifest apply` does.
 * True when it was taken in. Throws MANIFEST_INVALID.
 */
export async function importManifest(deps: ManifestDeps, yaml: string): Promise<boolean> {
  if (await newestManifest(deps.db)) return false
  try {
    await applyManifest(deps, actor, readYaml(yaml))
    return true
  } catch (error) {
    if (isProblem(error, 'CONFLICT')) return false // another replica was first
    throw error
  }
}

function readYaml(yaml: string): unknown {
  try {
    return parse(yaml)
  } catch (error) {
    throw problem('MANIFEST_INVALID', `the manifest is not YAML: ${(error as Error).message.split('\n')[0]}`)
  }
}
