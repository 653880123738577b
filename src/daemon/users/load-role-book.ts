import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { problem } from '../../core/kit/index.ts'
import { type RoleBook, readRoleBook } from '../../core/users/index.ts'

/** Reads the roles of tenants' users at the start. Throws CONFIG_INVALID naming the file and what is wrong in it. */
export async function loadRoleBook(file: string): Promise<RoleBook> {
  const text = await readFile(file, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw problem('CONFIG_INVALID', `${file} cannot be read (${code}): it says which roles users of tenants have`)
  })
  return readRoleBook(asYaml(file, text), file)
}

function asYaml(file: string, text: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    throw problem('CONFIG_INVALID', `${file} is not YAML: ${(error as Error).message.split('\n')[0]}`)
  }
}
