import { basename, dirname } from 'node:path'
import type { ContainerState } from '../ports/index.ts'

/** The default names of compose, in its order. */
export const composeNames = ['compose.yaml', 'compose.yml', 'docker-compose.yml', 'docker-compose.yaml']

/** The one file in the folder that all containers were brought up from; undefined where that is not so. */
export function fileOfContainers(
  folder: string,
  containers: readonly ContainerState[],
  key: 'composeFiles' | 'envFiles',
): string | undefined {
  // A container that a restore recreated names a file of the agent, which says nothing about the owner's.
  const byOwner = containers.filter(({ composeFiles }) => !composeFiles.some((path) => basename(path).startsWith('.compose.')))
  const sets = [...new Set(byOwner.map((container) => container[key].join('\n')))]
  const [only] = sets
  return sets.length === 1 && only && !only.includes('\n') && dirname(only) === folder ? only : undefined
}
