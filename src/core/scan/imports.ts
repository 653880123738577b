import type { Node } from '@babel/types'
import type { Rule } from './findings.ts'

/** The expressions that name what a node imports. */
export function importsOf(node: Node): readonly Node[] {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportAllDeclaration':
    case 'ImportExpression':
      return [node.source]
    case 'ExportNamedDeclaration':
      return node.source ? [node.source] : []
    case 'TSImportEqualsDeclaration':
      return node.moduleReference.type === 'TSExternalModuleReference' ? [node.moduleReference.expression] : []
    case 'TSImportType':
      return [node.argument]
    default:
      return []
  }
}

/** Only a literal path to a file of the package is an import; nothing else exists in the sandbox. */
export function importFault(file: string, source: Node): Readonly<{ rule: Rule; name: string }> | undefined {
  const name = literalOf(source)
  if (name === undefined) return { rule: 'import-not-literal', name: '' }
  if (!/^\.\.?\//.test(name) || /[\\%?#\0]/.test(name)) return { rule: 'import-not-relative', name: name.slice(0, 100) }
  return leavesPackage(file, name) ? { rule: 'import-outside', name: name.slice(0, 100) } : undefined
}

function literalOf(source: Node): string | undefined {
  if (source.type === 'StringLiteral') return source.value
  if (source.type === 'TSLiteralType' && source.literal.type === 'StringLiteral') return source.literal.value
  return source.type === 'TemplateLiteral' && source.expressions.length === 0 ? (source.quasis[0]?.value.cooked ?? undefined) : undefined
}

function leavesPackage(file: string, name: string): boolean {
  let depth = file.split('/').length - 1
  for (const part of name.split('/')) {
    if (part === '..') depth--
    else if (part !== '.' && part !== '') depth++
    if (depth < 0) return true
  }
  return false
}
