// A component that is drawn again only when one of its properties is another one.
import { Component, type ComponentClass, type FunctionComponent } from 'preact';

export function pure<Props extends object>(Drawn: FunctionComponent<Props>): ComponentClass<Props> {
  return class extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      // Hundreds of rows ask this ten times a second, so nothing is allocated.
      for (const name in next) if (next[name] !== (this.props as Props)[name]) return true;
      for (const name in this.props) if (!(name in next)) return true;
      return false;
    }

    render(props: Props) {
      return <Drawn {...props} />;
    }
  };
}
