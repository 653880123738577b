import { z } from 'zod'
import type { ModuleManifest } from '../modules/index.ts'

const Change = z.object({ added: z.array(z.string()), removed: z.array(z.string()) })

export const Difference = z.object({
  previousVersion: z.string().nullable().meta({ description: 'The last approved version; null: this is the first' }),
  files: Change.extend({ changed: z.array(z.string()) }),
  permissions: Change,
  subscribes: Change,
  publishes: Change,
})
export type Difference = Readonly<z.infer<typeof Difference>>

/** A version of a module: its manifest, and the SHA-256 of each file by name. */
export type ComparedVersion = Readonly<{
  manifest: Pick<ModuleManifest, 'version' | 'permissions' | 'events'>
  files: ReadonlyMap<string, string>
}>

const change = (before: readonly string[], after: readonly string[]) => ({
  added: after.filter((one) => !before.includes(one)),
  removed: before.filter((one) => !after.includes(one)),
})

/** Changes of a version. Without `before` all of it is added. */
export function differenceOf(before: ComparedVersion | null, after: ComparedVersion): Difference {
  const [old, now] = [before?.files ?? new Map<string, string>(), after.files]
  const published = (version: ComparedVersion | null) => version?.manifest.events.publishes.map(({ name }) => name) ?? []
  return {
    previousVersion: before?.manifest.version ?? null,
    files: {
      added: [...now.keys()].filter((name) => !old.has(name)),
      removed: [...old.keys()].filter((name) => !now.has(name)),
      changed: [...now.keys()].filter((name) => old.has(name) && old.get(name) !== now.get(name)),
    },
    permissions: change(before?.manifest.permissions ?? [], after.manifest.permissions),
    subscribes: change(before?.manifest.events.subscribes ?? [], after.manifest.events.subscribes),
    publishes: change(published(before), published(after)),
  }
}
