import { NewPassword } from '../../core/admin/index.ts'
import { parsePart } from '../../core/contract/index.ts'
import { isProblem, problem } from '../../core/kit/index.ts'
import type { Machine } from '../../node/command-line.ts'
import { readUtf8, readUtf8Stream } from '../../node/index.ts'
import { promptNewPassword } from '../../node/new-password.ts'

/** Reads a new password from a file, a prompt (twice, without echo) or stdin. Throws VALIDATION if it is too short. */
export async function readNewPassword(machine: Machine, file: string | undefined): Promise<string> {
  const password =
    file !== undefined
      ? await fromFile(file)
      : machine.stdin.isTTY
        ? await fromPerson(machine)
        : firstLine(await readUtf8Stream(machine.stdin))
  return parsePart(NewPassword, password, 'password')
}

const firstLine = (text: string) => text.split(/\r?\n/)[0] ?? ''

async function fromFile(file: string): Promise<string> {
  try {
    return firstLine(await readUtf8(file, { code: 'USAGE' }))
  } catch (error) {
    if (isProblem(error)) throw error
    throw problem(
      'USAGE',
      `${file} cannot be read (${(error as NodeJS.ErrnoException).code}). fix: pass the file with the password to --password-file`,
    )
  }
}

async function fromPerson({ stdin, stderr, signal }: Machine): Promise<string> {
  const { password } = await import('@inquirer/prompts')
  const context = { input: stdin as NodeJS.ReadStream, output: stderr as NodeJS.WriteStream, signal }
  return promptNewPassword({
    prompt: (message) => password({ message, mask: false }, context),
    reasonAgainst: (text) => NewPassword.safeParse(text).error?.issues[0]?.message,
    notify: (line) => stderr.write(`${line}\n`),
  })
}
