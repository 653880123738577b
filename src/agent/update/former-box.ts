import { Service, type UpdateTargets, VersionedService } from '../../core/boxes/index.ts'
import { problem, sha256Hex } from '../../core/kit/index.ts'
import { type ComposeFacts, readCompose, reportVersions } from '../boxes/index.ts'
import { assertDatabaseVolume, readComposeText } from '../change/index.ts'
import type { ContainerState, LocalBox } from '../ports/index.ts'
import { targetText } from './compose-switch.ts'
import type { Before } from './evidence.ts'
import type { UpdateRun } from './update-run.ts'

/** The box before anything is touched: all four containers run, and run what the compose file says. Throws BOX_UNHEALTHY or COMPOSE_INVALID. */
export async function observeBefore(run: UpdateRun): Promise<Before> {
  const { box, deps, payload } = run
  const text = await readComposeText(box)
  const compose = readCompose(text, box.project.name)
  const containers = await deps.engine.containers(box.project)
  const former = Service.options.map((service) => [service, formerContainer(box, compose, containers, service)] as const)
  const planned = changedServices(payload.targets, Object.fromEntries(former))
  return {
    containers: Object.fromEntries(former),
    planned,
    composeSha256: sha256Hex(text),
    targetSha256: sha256Hex(targetText(run, text, planned)),
    database: assertDatabaseVolume(run, compose),
    installed: (await reportVersions(deps, box)).installed,
  }
}

function formerContainer(box: LocalBox, compose: ComposeFacts, containers: readonly ContainerState[], service: Service) {
  const container = containers.find((candidate) => candidate.service === service)
  if (container?.state !== 'running')
    throw problem('BOX_UNHEALTHY', `${service} of ${box.slug} does not run; repair the box before updating it`)
  const written = compose.services[service]?.image
  if (written !== container.image)
    throw problem(
      'COMPOSE_INVALID',
      `${box.project.composeFile} says ${written} for ${service}, but ${container.image} runs; bring both together first`,
    )
  return { id: container.id, image: container.image, digest: container.digest }
}

// A tag that only moved could not be gone back to: the compose file would name the new image twice.
function changedServices(targets: UpdateTargets, former: Before['containers']): VersionedService[] {
  return VersionedService.options.filter((service) => {
    const target = targets.services[service]
    const now = former[service]
    if (!target || (target.image === now?.image && (target.digest ?? now.digest) === now.digest)) return false
    if (target.image !== now?.image) return true
    throw problem(
      'DIGEST_MISMATCH',
      `${target.image} is to become ${target.digest} under the same tag, which leaves no way back; use a new tag`,
    )
  })
}
