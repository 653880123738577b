import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import { writeFileAtomic } from '../../node/index.ts'
import { type FetchedFiles, type PortableBox, readPortableBox, renderPortableBox } from '../rebuild/index.ts'
import type { DrillRun } from './drill-run.ts'
import { drillCompose, makeConfigQuiet } from './isolated-copy.ts'

/**
 * Renders the copy from this host's box template, because the snapshot may be of a compromised host. Settings that the template cannot
 * express are left out and reported as progress: a drill proves the data. Throws COMPOSE_INVALID if media or objects do not fit.
 */
export async function renderCopy(run: DrillRun, { boxFolder, manifest }: FetchedFiles): Promise<void> {
  const { deps, original, copy, context } = run
  const { templateFolder, maxUploadMegabytes } = deps.settings
  const portable = await readPortableBox({ folder: boxFolder, composeFile: manifest.box.composeFile, templateFolder })
  const { findings, stack } = portable
  if (stack.dataFindings.length > 0)
    throw problem('COMPOSE_INVALID', `${original.slug} cannot be rebuilt from the box template: ${stack.dataFindings.join('; ')}`)
  if (findings.length > 0) context.progress({ step: 'files', detail: `not in the copy: ${findings.join('; ')}`.slice(0, 500) })
  const image = (service: string): string => manifest.images[service]?.image ?? 'unused:unused'
  await renderPortableBox(
    { random: deps.random, templateFolder },
    {
      // The copy has a probe account of its own.
      portable: { ...portable, probe: undefined },
      project: copy.project,
      facts: {
        slug: original.slug,
        boxId: original.boxId,
        chatDomain: chatDomainOf(run, portable),
        publicUrl: 'http://localhost',
        images: { edge: image('edge'), synapse: image('synapse'), postgres: image('postgres'), minio: image('minio') },
        // drillCompose publishes none.
        ports: { public: 1, platform: 2, probe: 3 },
        binds: { public: '127.0.0.1', platform: '127.0.0.1' },
        maxUploadMegabytes,
      },
    },
  )
  await makeConfigQuiet(copy.project.folder, deps.random)
  const text = await readFile(join(copy.project.folder, 'compose.yaml'), 'utf8')
  await writeFileAtomic(copy.project.composeFile, drillCompose(text, copy.project.name))
}

/** The domain of an observed box is only in its config. */
function chatDomainOf({ original }: DrillRun, { serverName }: PortableBox): string {
  const domain = original.chatDomain === 'unknown' ? serverName : original.chatDomain
  if (domain === undefined) throw problem('COMPOSE_INVALID', `the snapshot of ${original.slug} has no homeserver.yaml with a server_name`)
  return domain
}
