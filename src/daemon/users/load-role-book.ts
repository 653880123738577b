import { parse } from 'yaml'
import { isProblem, problem } from '../../core/kit/index.ts'
import { type RoleBook, readRoleBook } from '../../core/users/index.ts'
import { readUtf8 } from '../../node/index.ts'

/** Reads `config/roles.yaml` at startup. Throws CONFIG_INVALID naming the file and its invalid fields. */
export async function loadRoleBook(file: string): Promise<RoleBook> {
  const text = await readUtf8(file).catch((error: NodeJS.ErrnoException) => {
    throw isProblem(error) ? error : problem('CONFIG_INVALID', `Role book ${file} cannot be read: ${error.code}`)
  })
  return readRoleBook(asYaml(file, text), file)
}

function asYaml(file: string, text: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    throw problem('CONFIG_INVALID', `Role book ${file} is not valid YAML: ${(error as Error).message.split('\n')[0]}`)
  }
}
