import { z } from 'zod'
import { RepositoryId } from './repository-report.ts'

/** Fetched per command by its lease owner, stored in memory only. */
export const CommandSecrets = z.object({
  /** The tenant's restic repository and its password. `env` has the store credentials for `s3:`. */
  snapshots: z
    .object({
      repository: z.string(),
      password: z.string(),
      env: z.record(z.string(), z.string()),
      /** The second key slot, for a lost backup key; added when the repository is created or lacks it. */
      recoveryPassword: z.string().optional(),
      /** Whether an absent repository may be created: only where the daemon knows of no snapshots in it. Absent = no. */
      mayCreate: z.boolean().optional(),
      /** restic's id of the repository, once an agent has reported it: another one at the same address is not it. */
      repositoryId: RepositoryId.optional(),
    })
    .optional(),
  /** By registry host: the mirror to try first, and the account at the registry itself; a mirror's host has its own entry. */
  registries: z
    .record(z.string(), z.object({ mirror: z.string().optional(), username: z.string().optional(), password: z.string().optional() }))
    .optional(),
})

export type CommandSecrets = z.infer<typeof CommandSecrets>
