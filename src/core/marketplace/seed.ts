import { z } from 'zod'
import { ItemVersion, itemFields } from './item.ts'

/** A file of config/marketplace: a free flow of the platform. Its name without `.yaml` is its key and slug, and never changes. */
export const SeedFile = z.strictObject({
  ...itemFields,
  version: ItemVersion,
  bundle: z
    .string()
    .regex(/^\.\.\/flows\/[a-z0-9-]+\.yaml$/, 'must be a file such as ../flows/visitor.yaml')
    .meta({ description: 'The flow, relative to config/marketplace' }),
})
