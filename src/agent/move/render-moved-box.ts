import type { BoxCommandPayload } from '../../core/boxes/index.ts'
import { type Problem, problem } from '../../core/kit/index.ts'
import { assertAllowedImage, assertSafeFolder, type BoxSettings, plainUrl } from '../boxes/index.ts'
import type { LocalBox } from '../ports/index.ts'
import { type FetchedFiles, type PortableBox, readPortableBox, renderPortableBox } from '../rebuild/index.ts'
import type { TakeOverRun } from './take-over-run.ts'

// The host that hands the box over may be compromised: the author of a compose file is root on the host that runs it. So the new host renders
// every file from its own box template; core decides which settings a box takes along, and anything else is refused by name.

/** Refuses a box whose own files cannot be expressed by the box template. Throws PREFLIGHT_REFUSED, FOLDER_UNSAFE, COMPOSE_INVALID. */
export async function assertMovable({ settings }: Readonly<{ settings: BoxSettings }>, { slug, project }: LocalBox): Promise<void> {
  const { findings } = await readPortableBox({ ...project, ...settings })
  if (findings.length > 0) throw refusal('PREFLIGHT_REFUSED', slug, findings)
}

/** The portable part of a fetched snapshot. Throws COMPOSE_INVALID or FOLDER_UNSAFE for one that cannot be rendered here. */
export async function portablePart(
  { settings }: Readonly<{ settings: BoxSettings }>,
  { slug }: Pick<BoxCommandPayload<'tenant-box.take_over'>, 'slug'>,
  { boxFolder, manifest }: Pick<FetchedFiles, 'boxFolder' | 'manifest'>,
): Promise<PortableBox> {
  const { composeFile } = manifest.box
  const portable = await readPortableBox({ folder: boxFolder, composeFile, templateFolder: settings.templateFolder })
  if (portable.findings.length > 0) throw refusal('COMPOSE_INVALID', slug, portable.findings)
  return portable
}

const maxFindings = 10

function refusal(code: 'PREFLIGHT_REFUSED' | 'COMPOSE_INVALID', slug: string, findings: readonly string[]): Problem {
  const more = findings.length > maxFindings ? `; and ${findings.length - maxFindings} more` : ''
  return problem(
    code,
    `${slug} cannot be moved, because the new host renders it from its own box template: ${findings.slice(0, maxFindings).join('; ')}${more}. fix: change that in the files of the box, then move it again`,
  )
}

/** Renders the box's files in this host's folder; begins from an empty folder each time. */
export async function renderMovedBox(run: TakeOverRun, fetched: FetchedFiles): Promise<void> {
  const { deps, payload, box } = run
  const { slug, boxId, chatDomain, ports } = payload
  const { binds, maxUploadMegabytes, templateFolder } = deps.settings
  const portable = await portablePart(deps, payload, fetched)
  const images = imagesOf(fetched.manifest.images, deps.allowedImages)
  const facts = { slug, boxId, chatDomain, publicUrl: plainUrl(payload.publicUrl), images, ports, binds, maxUploadMegabytes }
  await renderPortableBox({ random: deps.random, templateFolder }, { portable, project: box.project, facts })
  await assertSafeFolder(box.project)
}

type Images = FetchedFiles['manifest']['images']

function imagesOf(images: Images, allowed: readonly string[]) {
  const of = (service: string): string => {
    const image = images[service]?.image ?? ''
    assertAllowedImage(allowed, image)
    return image
  }
  return { edge: of('edge'), synapse: of('synapse'), postgres: of('postgres'), minio: of('minio') }
}
