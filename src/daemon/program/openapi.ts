import { api } from '../../core/api.ts'
import { openApiDocument } from '../../core/contract/index.ts'
import type { Machine } from '../../node/command-line.ts'
import { packageVersion } from '../../node/package.ts'

/** Prints the document that a running daemon serves at `/openapi.json`. */
export async function openapi({ stdout }: Machine): Promise<undefined> {
  stdout.write(`${JSON.stringify(openApiDocument(api, { title: 'Tenantry', version: packageVersion() }), null, 2)}\n`)
  return undefined
}
