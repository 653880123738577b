import type { RegistryEntry } from '../../core/hosts/index.ts'
import { ago, type Column, clean, type Style, table } from '../kit/index.ts'
import type { RegistriesResult } from './registries.ts'

const accountOf = ({ username, hasPassword }: RegistryEntry) => username && `${clean(username)}${hasPassword ? ', password kept' : ''}`

const columns = ({ now }: Style): Column<RegistryEntry>[] => [
  { title: 'REGISTRY', value: ({ registry }) => registry, priority: 1, minWidth: 12 },
  { title: 'HOST', value: ({ host }) => host ?? 'all', priority: 1 },
  { title: 'MIRROR', value: ({ mirror }) => mirror, priority: 2, minWidth: 12 },
  { title: 'ACCOUNT', value: accountOf, priority: 2, minWidth: 12 },
  { title: 'SET', value: ({ updatedAt }) => ago(updatedAt, now), priority: 4 },
  { title: 'BY', value: ({ updatedBy }) => updatedBy, priority: 5 },
]

export const registryList = ({ registries }: { registries: readonly RegistryEntry[] }, style: Style): string =>
  registries.length === 0 ? 'Images are pulled from their own registries, without accounts.' : table(style, columns(style), registries)

export function registryView(result: Exclude<RegistriesResult, { registries: unknown }>): string {
  if ('removed' in result) return `nothing is said of ${result.removed} for ${result.host ?? 'all hosts'} any more`
  const parts = [result.mirror && `by ${result.mirror} first`, accountOf(result) && `as ${accountOf(result)}`].filter(Boolean)
  return `${result.host ?? 'all hosts'}: ${result.registry} is pulled ${parts.join(', ')}`
}
