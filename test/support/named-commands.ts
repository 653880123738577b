import { runProgram as runAgent } from '../../src/agent/program/main.ts'
import { globalOptions } from '../../src/cli/first-page.ts'
import { wholeTree } from '../../src/cli/nouns.ts'
import { runProgram as runDaemon } from '../../src/daemon/program/run-program.ts'

type Program = 'tenantry' | 'tenantryd' | 'tenantry-agent'

/** Checks command lines against the programs: answers what is wrong with a line, such as an unknown verb or option. */
export async function commandChecker(): Promise<(line: string) => Promise<readonly string[]>> {
  const { nouns, alone } = await wholeTree()
  const commands = new Map([
    ...nouns.flatMap((noun) => noun.verbs.map((verb) => [`${noun.name} ${verb.name}`, verb] as const)),
    ...alone.map((command) => [command.name, command] as const),
  ])
  const everywhere = Object.values(globalOptions).flatMap(([flags]) => /--[a-z-]+/.exec(flags) ?? [])

  const wrongWithTenantry = (line: string): string[] => {
    const [noun, verb] = line.split(' ')
    if (noun === 'help') return verb === undefined ? [] : wrongWithTenantry(line.replace(/^help /, ''))
    if (verb?.includes('|')) return verb.split('|').flatMap((one) => wrongWithTenantry(`${noun} ${one}`))
    const command = commands.get(`${noun} ${verb}`) ?? commands.get(`${noun}`)
    if (!command) return nouns.some(({ name }) => name === noun) && (!verb || /^[<…]/.test(verb)) ? [] : [line]
    const taken = [...everywhere, ...Object.values(command.options).map(({ flags }) => flags.split(' ')[0] as string)]
    return optionsOf(line).flatMap((flag) => (taken.includes(flag) ? [] : [`${line}: ${flag}`]))
  }

  const wrongWithProgram = async (program: Exclude<Program, 'tenantry'>, line: string): Promise<string[]> => {
    const words = line.split(' ').filter((word) => /^[a-z][a-z-]*$/.test(word))
    for (let count = words.length; count > 0; count--) {
      const help = await helpOf(program, words.slice(0, count))
      if (help !== undefined) return optionsOf(line).flatMap((flag) => (help.includes(flag) ? [] : [`${program} ${line}: ${flag}`]))
    }
    return optionsOf(line).length === 0 ? [`${program} ${line}`] : []
  }

  return async (line) => {
    const [, program, rest] = /^(tenantryd|tenantry-agent|tenantry) (.*)$/.exec(line) ?? []
    if (program === undefined || rest === undefined) return []
    return program === 'tenantry' ? wrongWithTenantry(rest) : wrongWithProgram(program as 'tenantryd', rest)
  }
}

const optionsOf = (line: string): string[] => [...line.matchAll(/(?:^| )(--[a-z-]+)/g)].map(([, flag]) => flag as string)

/** The help of a command; undefined for an unknown one. */
async function helpOf(program: 'tenantryd' | 'tenantry-agent', words: readonly string[]): Promise<string | undefined> {
  let printed = ''
  const output = {
    write: (text: string) => {
      printed += text
      return true
    },
  }
  const machine = { env: {}, stdout: output, stderr: output, signal: new AbortController().signal } as never
  const run = program === 'tenantryd' ? runDaemon : runAgent
  const usage = `Usage: ${program} ${words.join(' ')}`
  return (await run([...words, '--help'], machine)) === 0 && printed.startsWith(usage) ? printed : undefined
}
