import type { Node } from '@babel/types'

/** A node with its parent, so that a name can be resolved without a pass over the whole file. */
export type Placed = Readonly<{ node: Node; parent: Placed | null; key: string }>

/**
 * True if an enclosing scope declares the name, so that it does not mean the global. Declarations without a value (`declare`, types) do not
 * count. In doubt it is false: a finding too many is read by a person, one too few is not.
 */
export function isDeclared(name: string, place: Placed): boolean {
  for (let at: Placed | null = place; at !== null; at = at.parent) if (namesOf(at.node).has(name)) return true
  return false
}

const known = new WeakMap<Node, ReadonlySet<string>>()

function namesOf(scope: Node): ReadonlySet<string> {
  const found = known.get(scope)
  if (found) return found
  const names = new Set<string>()
  switch (scope.type) {
    case 'Program':
    case 'BlockStatement':
    case 'StaticBlock':
      for (const statement of scope.body) declare(statement, names)
      break
    case 'SwitchStatement':
      for (const { consequent } of scope.cases) for (const statement of consequent) declare(statement, names)
      break
    case 'ForStatement':
      if (scope.init) declare(scope.init, names)
      break
    case 'ForInStatement':
    case 'ForOfStatement':
      declare(scope.left, names)
      break
    case 'CatchClause':
      bind(scope.param, names)
      break
    case 'FunctionExpression':
    case 'ClassExpression':
      bind(scope.id, names)
  }
  if ('params' in scope && Array.isArray(scope.params) && 'body' in scope) for (const param of scope.params) bind(param as Node, names)
  known.set(scope, names)
  return names
}

/** Names that a statement declares in the scope around it. A `var` inside a nested block is left out: in doubt, not declared. */
function declare(statement: Node, names: Set<string>): void {
  if ('declare' in statement && statement.declare) return
  switch (statement.type) {
    case 'VariableDeclaration':
      for (const { id } of statement.declarations) bind(id, names)
      break
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
      bind(statement.id, names)
      break
    case 'ImportDeclaration':
      if (statement.importKind !== 'type') for (const { local } of statement.specifiers) names.add(local.name)
      break
    case 'ExportNamedDeclaration':
    case 'ExportDefaultDeclaration':
      if (statement.declaration) declare(statement.declaration, names)
  }
}

function bind(pattern: Node | null | undefined, names: Set<string>): void {
  switch (pattern?.type) {
    case 'Identifier':
      names.add(pattern.name)
      break
    case 'ObjectPattern':
      for (const property of pattern.properties) bind(property.type === 'RestElement' ? property : property.value, names)
      break
    case 'ArrayPattern':
      for (const element of pattern.elements) bind(element, names)
      break
    case 'AssignmentPattern':
      bind(pattern.left, names)
      break
    case 'RestElement':
      bind(pattern.argument, names)
  }
}
