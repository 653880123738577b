import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Service } from '../../core/boxes/index.ts'
import { canonicalJson, problem, remembered, sha256Hex } from '../../core/kit/index.ts'
import { plainCompose, readCompose } from '../boxes/index.ts'
import type { Project } from '../ports/index.ts'

export type ServiceModel = Readonly<{ service: Service; image: string; volumes: readonly string[]; configHash: string }>

/** The project's compose file as it stands on disk. Throws COMPOSE_INVALID. */
export async function readModel(project: Project): Promise<readonly ServiceModel[]> {
  return modelOf(await resolved(project, await readText(project)), project.name)
}

const mostTexts = 32

const modelOf = remembered(mostTexts, (text: string, projectName: string): readonly ServiceModel[] => {
  const { services, database } = readCompose(text, projectName)
  const hashes = configHashes(text)
  return Object.entries(services).map(([service, facts]) => ({
    service: service as Service,
    image: facts.image,
    volumes: service === 'postgres' ? dataFirst(facts.volumes, database?.volume) : facts.volumes,
    configHash: hashes[service] as string,
  }))
})

/** As with compose, the hash covers the service's own settings and not the real names of its volumes. */
const configHashes = remembered(mostTexts, (text: string): Readonly<Record<string, string>> => {
  const { services } = plainCompose(text) as { services: Record<string, unknown> }
  return Object.fromEntries(Object.entries(services).map(([service, settings]) => [service, sha256Hex(canonicalJson(settings))]))
})

/** The simulated server keeps its data in the first. */
const dataFirst = (volumes: readonly string[], data: string | undefined): readonly string[] =>
  data === undefined ? volumes : [data, ...volumes.filter((volume) => volume !== data)]

/** Variables of the project's own env file; nothing else is known, as with the real engine. */
async function resolved({ envFile }: Project, text: string): Promise<string> {
  const lines = envFile === undefined ? [] : (await readFile(envFile, 'utf8')).split('\n')
  const variables = new Map(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
  return text.replace(/\$\{(\w+)\}/g, (_, name: string) => variables.get(name) ?? '')
}

async function readText(project: Project): Promise<string> {
  const path = resolve(project.folder, project.composeFile)
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw problem('COMPOSE_INVALID', `the compose file ${path} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}
