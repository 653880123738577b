import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { parseSynapseSchemas } from '../../src/core/boxes/index.ts'

/** The table shipped with the package. */
export const synapseSchemas = parseSynapseSchemas(
  parse(readFileSync(join(import.meta.dirname, '../../config/synapse-schema.yaml'), 'utf8')),
)
