// A component that is drawn again only when one of its properties is another one.
import { Component, type ComponentClass, type FunctionComponent } from 'preact';

export function pure<Props extends object>(Drawn: FunctionComponent<Props>): ComponentClass<Props> {
  return class extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      const names = new Set([...Object.keys(this.props), ...Object.keys(next)]);
      return [...names].some((name) => this.props[name as keyof Props] !== next[name as keyof Props]);
    }

    render(props: Props) {
      return <Drawn {...props} />;
    }
  };
}
