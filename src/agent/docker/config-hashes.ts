import { readFile } from 'node:fs/promises'
import { isMap, type Node, parseDocument } from 'yaml'
import type { Project } from '../ports/index.ts'
import { type DockerSettings, limitsOf } from './connect.ts'
import { composeArguments, runDocker } from './run-compose.ts'

/**
 * Compose leaves the dependencies of a service out of its hash when it brings up that service alone, as the agent does, and puts them in when
 * it brings up all, as a person does: a container may bear either.
 */
export async function configHashes(settings: DockerSettings, project: Project): Promise<Record<string, readonly string[]>> {
  const [whole, alone] = await Promise.all([hashes(settings, project), hashesAlone(settings, project)])
  return Object.fromEntries(Object.entries(whole).map(([service, hash]) => [service, [...new Set([hash, alone?.[service] ?? hash])]]))
}

async function hashesAlone(settings: DockerSettings, project: Project): Promise<Record<string, string> | undefined> {
  const input = withoutDependencies(await readFile(project.composeFile, 'utf8').catch(() => ''))
  return input === undefined ? undefined : hashes(settings, { ...project, composeFile: '-' }, input)
}

/** The file with no dependencies in it, all else byte for byte; undefined where no service names any. */
export function withoutDependencies(text: string): string | undefined {
  const document = parseDocument(text, { merge: true })
  const services = document.get('services', true)
  if (document.errors.length > 0 || !isMap(services)) return undefined
  const places = services.items.flatMap(({ value }) => {
    const range = isMap(value) ? (value.get('depends_on', true) as Node | undefined)?.range : undefined
    return range ? [range] : []
  })
  if (places.length === 0) return undefined
  return places.toSorted((one, other) => other[0] - one[0]).reduce((now, [start, end]) => emptied(now, start, end), text)
}

const emptied = (text: string, start: number, end: number): string => {
  const line = text.slice(start, end).endsWith('\n') ? '\n' : ''
  return `${text.slice(0, start)}[]${line}${text.slice(end)}`
}

async function hashes(settings: DockerSettings, project: Project, input?: string): Promise<Record<string, string>> {
  const printed = await runDocker(settings, composeArguments(project, ['config', '--hash', '*']), {
    what: `the compose file of ${project.name}`,
    otherwise: 'COMPOSE_INVALID',
    timeoutMs: limitsOf(settings).composeQuestionMs,
    input,
  })
  const lines = printed.split('\n').filter((line) => line.trim() !== '')
  return Object.fromEntries(lines.map((line) => line.trim().split(/\s+/) as [string, string]))
}
