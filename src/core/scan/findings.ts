/** A place in a package that a reviewer must not find in a listed module. Line and column begin with 1; absent where the file as a whole is meant. */
export type Finding = Readonly<{ rule: Rule; file: string; line?: number; column?: number; message: string }>

/** Every rule with its message; `{}` is replaced by the name concerned. */
const rules = {
  // the archive
  'archive-unreadable': 'The package cannot be read: {}',
  'archive-limit': 'The package is too large: {}',
  'archive-name': 'The file name is not allowed: use letters, digits, dots, dashes and underscores',
  'archive-duplicate': 'The package has this name twice, or another one that differs in case only: {}',
  'archive-link': 'The package contains a link or a special file',
  'archive-encrypted': 'The file is encrypted',
  'archive-compression': 'The file is compressed with {}, which is not read: pack it again with deflate',
  'archive-nested': 'The file is an archive',
  'binary-code': 'The file is binary code: {}',
  'manifest-missing': 'The package has no module.json at its root',
  'main-missing': 'The manifest names {} as main, which the package does not have',
  // text
  'hidden-characters': 'The text contains a hidden or direction-changing character: {}',
  'not-utf8': 'The file is not UTF-8 text',
  // package.json
  'package-script': 'package.json runs {} at installation',
  'package-imports': 'package.json renames imports (imports)',
  'package-native': 'package.json or binding.gyp builds native code',
  'package-invalid': 'package.json is not JSON',
  // code
  unparsable: 'The file cannot be parsed: {}',
  'code-too-large': 'The file is larger than {}: split it',
  'import-not-literal': 'The name of an import must be a literal',
  'import-not-relative': 'Only files of the package can be imported (./name.js), not {}',
  'import-outside': 'The import leaves the package: {}',
  require: 'require is not available: use import',
  'global-name': '{} is not available in a module',
  timer: '{} is not available in a module: there are no timers',
  'constructor-access': 'Access to constructor: it leads to code made from text',
  'dangerous-name': 'The name {} is internal to Node.js',
  'import-meta': 'import.meta is not available in a module',
  'with-statement': 'with hides which variable is meant',
} as const

export type Rule = keyof typeof rules

type Found = Readonly<{ detail?: string; line?: number; column?: number }>

export const finding = (rule: Rule, file: string, { detail = '', ...at }: Found = {}): Finding => ({
  rule,
  file,
  ...at,
  message: rules[rule].replace('{}', detail),
})
