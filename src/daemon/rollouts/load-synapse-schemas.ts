import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { parseSynapseSchemas, type SynapseSchemas } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'

/** Reads the table once, at the start of the daemon. Throws CONFIG_INVALID. */
export async function loadSynapseSchemas(file: string): Promise<SynapseSchemas> {
  return parseSynapseSchemas(asYaml(await readFile(file, 'utf8')))
}

function asYaml(text: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    throw problem('CONFIG_INVALID', `the table of Synapse schemas is not YAML: ${(error as Error).message.split('\n')[0]}`)
  }
}
