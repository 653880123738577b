import { readFile } from 'node:fs/promises'
import type { BoxFacts } from '../../core/boxes/index.ts'
import { sha256Hex } from '../../core/kit/index.ts'
import type { ContainerEngine, ContainerState, LocalBox } from '../ports/index.ts'
import { findingsOfExtra } from './extra-file.ts'
import { reasonNotRestorable } from './restorable.ts'
import { type Composed, differencesOf, readCauses } from './running-versus-file.ts'
import { scaledServices } from './scaled-services.ts'

export type FileFacts = Pick<
  BoxFacts,
  'wouldRecreate' | 'differences' | 'otherCompose' | 'otherNetworks' | 'scaledServices' | 'notRestorable' | 'extra'
>

/** A file as compose resolves it; each part costs a program. */
type Read = Readonly<{
  composed: Composed
  compose: string
  model: Readonly<Record<string, unknown>>
  reason: string | undefined
  extra: readonly string[]
}>

/**
 * Facts of a box's compose file beside its containers. Compose reads the file again after it or its variables have changed, and before a fault is
 * reported: another compose, or a failure of one call, may be the cause.
 */
export function fileFactFinder(engine: ContainerEngine) {
  const known = new Map<string, { of: string; read: Promise<Read> }>()
  const readNow = async (box: LocalBox, text: string): Promise<{ read: Read; isNew: boolean }> => {
    const { composeFile, envFile, extraFile } = box.project
    const more = await Promise.all([envFile, extraFile].map((path) => (path ? readFile(path, 'utf8') : '')))
    const of = sha256Hex([text, ...more].join('\n'))
    const before = known.get(composeFile)
    if (before?.of === of) return { read: await before.read, isNew: false }
    const read = readFileFacts(engine, box, text)
    known.set(composeFile, { of, read })
    read.catch(() => known.delete(composeFile))
    return { read: await read, isNew: true }
  }
  return async (box: LocalBox, text: string, containers: readonly ContainerState[]): Promise<FileFacts> => {
    const [causes, networks] = await Promise.all([readCauses(box.project, containers), engine.networks(box.project)])
    const differencesNow = ({ composed, compose, model }: Read) =>
      differencesOf(box.project, { composed, compose, model, containers, networks, ...causes })
    const { read: former, isNew } = await readNow(box, text)
    const isStale = !isNew && (former.reason !== undefined || differencesNow(former).length > 0)
    if (isStale) known.delete(box.project.composeFile)
    const read = isStale ? (await readNow(box, text)).read : former
    const found = differencesNow(read)
    const differing = found.filter(({ isHashAlone }) => !isHashAlone)
    const upgraded = found.filter(({ isHashAlone }) => isHashAlone)
    const otherNetworks = upgraded.flatMap(({ network }) => network ?? [])
    const otherCompose = upgraded.filter(({ network }) => network === undefined).flatMap(({ services }) => services)
    return {
      wouldRecreate: [...new Set(differing.flatMap(({ services }) => services))].sort(),
      ...(differing.length > 0 ? { differences: differing.slice(0, 20).map((one) => one.text.slice(0, 500)) } : {}),
      ...(otherCompose.length > 0 ? { otherCompose } : {}),
      ...(otherNetworks.length > 0 ? { otherNetworks: otherNetworks.slice(0, 20) } : {}),
      scaledServices: scaledServices(read.model, containers),
      notRestorable: read.reason === undefined ? [] : [read.reason.slice(0, 500)],
      ...(read.extra.length > 0 ? { extra: read.extra.slice(0, 20).map((one) => one.slice(0, 500)) } : {}),
    }
  }
}

async function readFileFacts(engine: ContainerEngine, box: LocalBox, text: string): Promise<Read> {
  const [composed, { compose }, model, extra] = await Promise.all([
    engine.composedServices(box.project),
    engine.info(),
    engine.resolveCompose(box.project, text),
    findingsOfExtra(box.project),
  ])
  return { composed, compose, model, reason: await reasonNotRestorable({ engine }, box, text), extra }
}
